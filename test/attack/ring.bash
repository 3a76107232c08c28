# Makes a ring whose thread spins for a minute, at once or as soon as the file of the second word exists, and prints the id of the thread.
RING='
import ctypes, os, sys, time
call = ctypes.CDLL(None).syscall
def threads():
    for one in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{one}/comm") as name:
            if name.read().startswith("iou-sqp"):
                yield one
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
params = (ctypes.c_uint32 * 30)()
params[2], params[4] = 2, 60000
ring = call(425, 8, params)
if ring < 0:
    sys.exit(1)
while not (found := list(threads())): # waits until the thread has set its name
    time.sleep(0.01)
call(426, ring, 0, 0, 2, None, 0) # IORING_ENTER_SQ_WAKEUP: the thread begins to spin
print(*found, flush=True)
if sys.argv[1] != "once":
    time.sleep(1000)
'
