"""What is known of a route (model, provider, source): windows, prices, and the arithmetic over them."""
