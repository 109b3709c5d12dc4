"""The fault proof: a storm of kills, restarts and lies around the real product, judged by the simulators' ledgers."""
