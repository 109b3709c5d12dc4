"""The fault test: kills, restarts and false answers around the real product, judged by the simulators' ledgers."""
