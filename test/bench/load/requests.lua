-- Drives wrk with the requests that bodies.ts writes: REQUESTS names the file, WEBHOOK_PATH the path. Each thread begins
-- at another place, so that two of them don't send the same body at the same time.
local requests, next_one, threads = {}, 0, 0

function setup(thread)
  thread:set("place", threads)
  threads = threads + 1
end

function init()
  local file = assert(io.open(os.getenv("REQUESTS"), "rb"))
  for head in file:lines() do
    local signature, content_type, length = head:match("^(%x+) (%S+) (%d+)$")
    local body = file:read(tonumber(length))
    file:read(1)
    requests[#requests + 1] = wrk.format("POST", os.getenv("WEBHOOK_PATH"), {
      ["X-Signature-SHA256"] = signature,
      ["Content-Type"] = content_type,
    }, body)
  end
  file:close()
  next_one = (place * 1777) % #requests
end

function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"micros":%d,"refused":%d,"socketErrors":%d,"timeouts":%d,"p50":%d,"p99":%d,"max":%d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write,
    errors.timeout, latency:percentile(50), latency:percentile(99), latency.max))
end
