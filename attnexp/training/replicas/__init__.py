"""Many runs in one program: models of the same shapes train along a leading axis of replicas."""
