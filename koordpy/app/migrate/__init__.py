"""Configurations of koord-scheduler and of scheduler-plugins, turned into ones that koordpy takes."""
