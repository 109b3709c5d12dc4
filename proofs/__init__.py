"""Proofs: simulators, storms and measurements, outside of the production image."""
