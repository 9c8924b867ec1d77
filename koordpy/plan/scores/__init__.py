"""One file per score, in kube-scheduler's integer arithmetic, so that totals compare exactly."""
