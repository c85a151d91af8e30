"""How columns of each kind become numbers that generators model, and back."""
