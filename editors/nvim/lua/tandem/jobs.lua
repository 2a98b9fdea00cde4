-- The list of the commands that go on in the background. One can be ended here.
local M = {}

---@param job tandem.JobState
---@return string
local function line(job)
  return ('%s  %s'):format(job.jobId, require('tandem.visible').line(job.title))
end

---@param instance tandem.Instance
---@param job tandem.JobState
local function finish(instance, job)
  local tell = require('tandem.chat').tell
  vim.ui.select({ 'Let it run', 'End it' }, { prompt = line(job) }, function(_, index)
    if index ~= 2 then
      return
    end
    local params = { sessionId = job.sessionId, name = 'job_kill', arguments = { job_id = job.jobId } }
    instance:request('tandem/tools/call', params, function(err, result)
      if err or not result.success then
        return tell(err and err.message or result.summary or result.data, vim.log.levels.ERROR)
      end
      tell(('%s has ended'):format(job.jobId))
    end)
  end)
end

--- Asks whether to stop or keep the background commands of a session before leaving it.
---@param instance tandem.Instance
---@param leave fun(keep: boolean) not called where the person stays
function M.ask(instance, leave)
  instance:request('tandem/status', vim.empty_dict(), function(err, result)
    local titles = {}
    for _, job in ipairs(not err and result.jobs or {}) do
      if job.sessionId == instance.session then
        titles[#titles + 1] = line(job)
      end
    end
    if #titles == 0 then
      return leave(false)
    end
    local one = #titles == 1
    vim.ui.select({ 'Stay in this session', 'Keep running', one and 'End it' or 'End them' }, {
      prompt = ('In the background: %s'):format(table.concat(titles, '; ')),
    }, function(_, index)
      if index == 2 or index == 3 then
        leave(index == 2)
      end
    end)
  end)
end

--- Lets the person choose one of the commands that run in the background.
---@param instance tandem.Instance
function M.choose(instance)
  local tell = require('tandem.chat').tell
  instance:request('tandem/status', vim.empty_dict(), function(err, result)
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    elseif #(result.jobs or {}) == 0 then
      return tell('no command runs in the background')
    end
    vim.ui.select(result.jobs, { prompt = 'Commands in the background', format_item = line }, function(job)
      if job then
        finish(instance, job)
      end
    end)
  end)
end

return M
