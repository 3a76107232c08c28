#!/usr/bin/python3 -S
# walk.py walk DIRECTORY OPERATIONS SEED: as one user, random creations, changes and releases of specs that claim some of CPU time, network and disk,
# each after the answer to the one before. Prints how many were granted, refused and released.
# walk.py sums SPECS: what all that is granted there takes of each pool, as status.json would say it: EDF NET SDA, one line. Exact: whole numbers.
import glob, json, os, random, sys, time

NAMES, PATIENCE = 12, 20  # the number of names of a user's specs; seconds
THROUGHPUT = 5400000      # the throughput of the disk, in blocks of 32 KiB


def claims(dice):
    spec = {}
    if dice.random() < 0.6:
        spec.update(runtime=dice.randrange(1000, 60000), period=dice.choice((100000, 200000, 250000)), plugin="EDF")
    if dice.random() < 0.6:
        spec["network"] = {"bytes": dice.randrange(100, 1400), "period": dice.choice((10000, 20000, 50000, 100000))}
    if dice.random() < 0.6:
        spec["disk"] = {"bytes": 32768 * dice.randrange(1, 5), "period": dice.choice((50000, 100000, 200000)), "block": 32768}
    return spec or claims(dice)


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit("no answer to " + what)
        time.sleep(0.0001)


def answered(name, token):
    try:
        with open(name + ".verdict") as file:
            return json.load(file)["token"] == token
    except FileNotFoundError:
        return False


def walk(directory, operations, seed):
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    dice = random.Random(seed)
    counts = {"granted": 0, "refused": 0, "released": 0}
    for number in range(operations):
        name = "w%d" % dice.randrange(NAMES)
        if os.path.exists(name + ".json") and dice.random() < 0.3:
            os.remove(name + ".json")
            wait(lambda: not os.path.exists(name + ".verdict"), "the removal of " + name)
            counts["released"] += 1
            continue
        token = "t%d-%d" % (seed, number)
        with open(".new", "w") as file:
            json.dump(dict(claims(dice), token=token), file)
        os.rename(".new", name + ".json")
        wait(lambda: answered(name, token), token)
        with open(name + ".verdict") as file:
            counts["granted" if json.load(file)["result"] == "OK" else "refused"] += 1
    print(counts["granted"], counts["refused"], counts["released"])


def up(number, by):
    return -(-number // by)


def decimal(billionths):
    return ("%d.%09d" % divmod(billionths, 10**9)).rstrip("0").rstrip(".")


def sums(specs):
    cpu = net = disk = 0
    for path in glob.glob(specs + "/*/*.verdict"):
        with open(path) as file:
            grant = json.load(file)["grant"]
        if grant is None:
            continue
        if grant["plugin"] is not None:
            cpu += up(grant["accepted_runtime"] * 10**9, grant["period"])
        for claim in grant["claims"]:
            if claim["resource"] == "network":
                net += up((claim["accepted_bytes"] + 42) * 10**6, claim["period"])
            else:
                disk += up(claim["accepted_bytes"] * 10**15, THROUGHPUT * claim["period"])
    print(decimal(cpu), net, decimal(disk))


if sys.argv[1] == "walk":
    walk(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    sums(sys.argv[2])
