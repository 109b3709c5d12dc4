"""How the parts of the house are opened and connected; ``bot.house`` puts them together."""
