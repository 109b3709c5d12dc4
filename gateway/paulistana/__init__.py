"""São Paulo's own channel, the Nota Fiscal Paulistana: an RPS becomes a note over SOAP."""
