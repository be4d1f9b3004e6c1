"""What a machine is: its checks, its drawings, its failure rules, its registry."""
