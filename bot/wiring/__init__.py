"""How the parts of the product are opened and connected; ``bot.house`` puts them together."""
