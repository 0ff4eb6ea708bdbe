package engine

var (
	environment func() (Options, string, error) // see Environment
	configured  bool                            // options and fallback were set, by Configure or from environment
)

// Environment says where options and the default device come from in a program that does not call Configure: read is called
// when a device is first used, so that what is wrong is an error of that call. Package backends calls it.
func Environment(read func() (Options, string, error)) {
	mu.Lock()
	defer mu.Unlock()
	environment = read
}

// settle reads the environment unless that was done, or the program has said what it wants.
func settle() error {
	mu.Lock()
	read := environment
	done := configured || read == nil
	mu.Unlock()
	if done {
		return nil
	}
	o, device, err := read() // may ask which devices there are
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	if !configured {
		options, fallback, configured = o, deviceName(device), true
	}
	return nil
}
