package page

import "syscall/js"

// Browser is what the browser calls itself.
func Browser() string { return js.Global().Get("navigator").Get("userAgent").String() }
