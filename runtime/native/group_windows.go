package native

import (
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// runGroup runs a program in a job of its own, which is killed when its context ends, and by the system when this process
// does.
func runGroup(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(job)
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return err
	}
	cmd.Cancel = func() error {
		_ = cmd.Process.Kill() // it may not be in the job yet
		return windows.TerminateJobObject(job, 1)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid)); err == nil {
		_ = windows.AssignProcessToJobObject(job, process) // where it cannot be, it dies alone
		windows.CloseHandle(process)
	}
	return cmd.Wait()
}
