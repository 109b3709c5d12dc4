"""Proofs: simulators, storms and measurements; no part of the production image."""
