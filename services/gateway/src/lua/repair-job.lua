--[[
  repair-job: removes fields of a job that BullMQ cannot read.

  KEYS[1]  the job
  ARGV     fields and their texts as they were read
  Keeps    a field whose text has changed since
]]
for i = ARG.items, #ARGV, 2 do
  local text = redis.call('HGET', KEYS[1], ARGV[i])
  if --[[rule:a-field-that-was-written-again-stays]] text == ARGV[i + 1] --[[end]] then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
