"""Stories that cross the rooms: whole programs, random plans on real devices, hostile variants and files."""
