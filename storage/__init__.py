"""What is kept, and who may claim it: the only room that imports sqlalchemy."""
