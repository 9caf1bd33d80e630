package server

// hostFacts is what a sandbox can use of the machine; sizes in MiB, 0 if unknown.
type hostFacts struct {
	cpus, memoryMB, diskMB int32
}
