-- Sends prepared requests round robin, and prints one line of JSON at the end.
-- The plan (see load.ts) has the method, headers up to an empty line, then a line per request: the path and two bodies, separated
-- by tabs. Odd rounds through the list send the first body, even rounds the second, so that every request changes
-- something. A `@` in a body becomes a number unique within the plan.

local head = ''
local paths, odd, even = {}, {}, {}
local count, position, turn, sent = 0, 1, 1, 0
local verified = false

local function split(body)
  local at = body:find('@', 1, true)
  if not at then return body end
  return { body:sub(1, at - 1), body:sub(at + 1) }
end

function init(args)
  local lines = io.lines(args[1])
  local method = lines()
  for line in lines do
    if line == '' then break end
    head = head .. line .. '\r\n'
  end
  for line in lines do
    local path, first, second = line:match('^([^\t]*)\t([^\t]*)\t([^\t]*)$')
    count = count + 1
    paths[count] = method .. ' ' .. path .. ' HTTP/1.1\r\n' .. head
    odd[count], even[count] = split(first), split(second)
  end
end

function request()
  local path = paths[position]
  local body = turn == 1 and odd[position] or even[position]
  if verified then
    position = position + 1
    if position > count then
      position = 1
      turn = 3 - turn
    end
    sent = sent + 1
  else
    -- wrk asks for one request that it does not send.
    verified = true
  end
  if type(body) == 'table' then body = body[1] .. string.format('%08x', sent) .. body[2] end
  if body == '' then return path .. '\r\n' end
  return path .. 'Content-Length: ' .. #body .. '\r\n\r\n' .. body
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
