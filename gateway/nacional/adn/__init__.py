"""The services of ADN beside the issuing: what cities agreed to, and what documents name a company."""
