"""The machine: processes, cores, CPU time, versions."""
