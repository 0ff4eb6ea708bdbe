package interp

// gives says whether the memory of WebAssembly may have so many bytes.
func gives(bytes int64) bool { return bytes < 1<<32 }
