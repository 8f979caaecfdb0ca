"""Reading runs back: tables, statistics and figures. Import what you need from the modules."""
