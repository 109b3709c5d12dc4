"""How two readings of one turn become one."""
