package envd

// Signature is signature, for tests.
var Signature = signature
