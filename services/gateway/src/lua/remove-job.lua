--[[
  remove-job: removes a job from the queue of candidates. Another gateway may have removed it meanwhile, and a
  producer may have used its id again.

  KEYS[1]  the job;  KEYS[2]  its lock;  KEYS[3]  the list of active jobs;  KEYS[4]  of waiting ones;  KEYS[5]  the
           set of stalled ones
  ARGV     id, data and timestamp of the job as they were read, the timestamp '' where there is none
  Returns  0 when the job is gone, or its id belongs to another job by now
]]
local job = redis.call('HMGET', KEYS[1], 'data', 'timestamp')
local isSame = job[1] == ARGV[ARG.data] and (job[2] or '') == ARGV[ARG.timestamp]
if --[[rule:another-job-of-the-same-id-stays]] not isSame --[[end]] then return 0 end
redis.call('LREM', KEYS[3], 0, ARGV[ARG.id])
redis.call('LREM', KEYS[4], -1, ARGV[ARG.id])
redis.call('SREM', KEYS[5], ARGV[ARG.id])
return redis.call('UNLINK', KEYS[1], KEYS[2])
