"""The record that a run writes into its folder while it trains."""
