// Package inside is tests that run within a browser: built for js, loaded by a worker of a page, and started by
// package browser's TestInside. They are the same cases that native devices pass.
package inside
