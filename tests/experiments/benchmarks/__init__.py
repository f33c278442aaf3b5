"""The benchmark programs that ship with antune."""
