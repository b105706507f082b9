"""What is there: one module or package per engine, all behind `base.Backend`."""
