"""The nine machines of the applications, carried by the engine with stand-in handlers, on both stores."""
