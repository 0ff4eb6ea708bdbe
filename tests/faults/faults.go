// Package faults kills, damages, fills and cancels whatever can be, and looks whether answers stay right and errors say what
// happened. Most of it happens to processes of its own: the test binary, which plays a part then.
package faults
