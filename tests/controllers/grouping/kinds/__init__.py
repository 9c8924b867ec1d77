"""The rules of each kind: pure functions, asked with owners and pods in shorthand."""
