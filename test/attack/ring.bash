# A ring whose thread spins for a minute, made at once or when the file of the second word is there; the id of the thread is printed.
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
while not (found := list(threads())): # it has its name from itself
    time.sleep(0.01)
call(426, ring, 0, 0, 2, None, 0) # IORING_ENTER_SQ_WAKEUP: it begins to spin
print(*found, flush=True)
if sys.argv[1] != "once":
    time.sleep(1000)
'
