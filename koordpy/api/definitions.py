"""How users get the definitions of the objects that koordpy reads. It never looks whether they have them."""

INSTALL = "koordpy crds | kubectl apply -f -"
