"""The fiscal channels of a storm: who issues on each, what goes wrong there, and how the judge reads its book."""
