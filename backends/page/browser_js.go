package page

import "syscall/js"

// browser is what the browser calls itself.
func browser() string { return js.Global().Get("navigator").Get("userAgent").String() }
