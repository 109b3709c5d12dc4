"""NF-e and NFC-e: sales of goods, authorised by the states over SOAP."""
