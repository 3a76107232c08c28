// A loop with a deadline in Go: 10 ms of CPU time in every 100 ms, for the thread of the loop. test/clients/clients.bats runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"rtf"
)

// policy is the scheduling policy of the calling thread, as the kernel has it: 0 ordinary, 6 SCHED_DEADLINE.
func policy() string {
	text, err := os.ReadFile("/proc/thread-self/stat")
	if err != nil {
		return "?"
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[38]
}

func run() error {
	runtime.LockOSThread()
	spool, err := rtf.Open("")
	if err != nil {
		return err
	}
	_, err = spool.Declare("greedy", rtf.Spec{"runtime": "99ms", "period": "100ms"})
	var refusal *rtf.Refusal
	if errors.As(err, &refusal) {
		fmt.Printf("refused: %s, nearest %d\n", refusal.Code, refusal.Nearest)
	}
	camera, err := spool.Declare("camera", rtf.Spec{"runtime": "10ms", "period": "100ms", "lifetime": "thread"})
	if err != nil {
		return err
	}
	if err := camera.AttachCaller(); err != nil {
		return err
	}
	grant := camera.Verdict().Grant
	fmt.Printf("%s: %d us in %d us, policy %s\n", grant.Plugin, grant.AcceptedRuntime, grant.Period, policy())
	next := time.Now()
	for job := 0; job < 5; job++ {
		// ... the work ...
		next = next.Add(time.Duration(grant.Period) * time.Microsecond)
		time.Sleep(time.Until(next))
	}
	if err := camera.Change(rtf.Spec{"runtime": "12ms"}); err != nil {
		return err
	}
	fmt.Printf("changed: %d us, policy %s\n", camera.Verdict().Grant.AcceptedRuntime, policy())
	if len(os.Args) > 1 { // until somebody else ends the reservation
		fmt.Println("waits")
		_, err = camera.Await(10 * time.Second)
		fmt.Printf("%v, policy %s\n", err, policy())
		return nil
	}
	if err := camera.Detach(); err != nil {
		return err
	}
	fmt.Printf("detached: policy %s\n", policy())
	if err := camera.Release(); err != nil {
		return err
	}
	fmt.Printf("released: policy %s\n", policy())
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "example: %v\n", err)
		os.Exit(75)
	}
}
