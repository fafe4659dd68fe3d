"""Tables of metrics, and what data look like before they are measured."""
