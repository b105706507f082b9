"""What is there: one package per engine, all behind `base.Backend`."""
