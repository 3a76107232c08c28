-- Counts the CPU time that srun --rtf=RUNTIME/PERIOD asks for, for Slurm's placement. One Slurm CPU is a hundredth of a CPU.
--
-- Slurm then places a task only on a node that has this CPU time left, and queues a step that fits nowhere now. The broker of the node still decides,
-- so a user who avoids this file gains nothing.

local units = { us = 1, ms = 1000, s = 1000000, min = 60000000, h = 3600000000 }

-- Returns the time in us; nil: the text is no time.
local function microseconds(text)
    local number, unit = string.match(text, "^(%d+)(%a+)$")
    return number and units[unit] and tonumber(number) * units[unit]
end

-- Returns runtime / period in hundredths of a CPU, rounded up. If the deadline is shorter than the period, it counts instead of the period.
local function hundredths(value)
    local times = string.match(value, "^[^,]*")
    local runtime, period, deadline = string.match(times, "^([^/]+)/([^/]+)/?([^/]*)$")
    local used, window = runtime and microseconds(runtime), period and microseconds(period)
    local sooner = deadline and microseconds(deadline)
    if not used or not window or window == 0 then
        return nil
    end
    if sooner and sooner > 0 and sooner < window then
        window = sooner
    end
    return math.max(1, math.ceil(used * 100 / window))
end

function slurm_cli_pre_submit(options, pack_offset)
    local spank = options["spank"]
    local value = spank and spank["rtf"] and spank["rtf"]["rtf"]
    if not value then
        return slurm.SUCCESS
    end
    local count = hundredths(value)
    if count then
        options["cpus-per-task"] = count
    end
    return slurm.SUCCESS
end

function slurm_cli_setup_defaults(options, early_pass)
    return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
    return slurm.SUCCESS
end
