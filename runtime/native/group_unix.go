//go:build unix

package native

import (
	"os"
	"os/exec"
	"syscall"
)

var shell = "/bin/sh"

// watcher waits for its input to end, which nobody writes to, and then kills its group.
const watcher = "read -r nothing; kill -9 0"

// runGroup runs a program in a group of its own, which is killed when its context ends or this process does, however it
// ends. A compiler is several processes, so a shell leads the group and waits for a pipe that this process holds: the
// system closes that with the process, and no earlier than the program has joined the group, as it holds it until it runs.
// Without a shell there is nobody to notice, but on Linux the first of the processes ends.
func runGroup(cmd *exec.Cmd) error {
	group, leave := watch()
	if group != 0 {
		defer leave()
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	} else {
		cmd.SysProcAttr = withThread()
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pgid = true, group
	cmd.Cancel = func() error {
		leader := group
		if leader == 0 {
			leader = cmd.Process.Pid
		}
		if err := syscall.Kill(-leader, syscall.SIGKILL); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
	return cmd.Run()
}

// watch starts a group of one watcher, and gives the function that ends it alone. The group is 0 where it cannot be.
func watch() (group int, leave func()) {
	w := exec.Command(shell, "-c", watcher)
	w.Env = []string{} // it needs nothing, and what is there could have it do something else
	w.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := w.StdinPipe(); err != nil {
		return 0, nil
	}
	if err := w.Start(); err != nil {
		return 0, nil
	}
	return w.Process.Pid, func() {
		_ = w.Process.Kill()
		_ = w.Wait() // closes the pipe
	}
}
