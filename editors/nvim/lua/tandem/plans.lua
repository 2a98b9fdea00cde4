-- The list of the changes that plan mode has queued. One, or all, are approved or discarded here.
local api = vim.api

local M = {}

---@param plan tandem.Plan
---@return string
local function line(plan)
  local state = plan.state
  if #(plan.needs or {}) > 0 then
    state = 'needs ' .. table.concat(plan.needs, ', ')
  elseif state == 'queued' then
    state = ('%d hunk%s'):format(#plan.hunks, #plan.hunks == 1 and '' or 's')
  end
  return ('%s  %s  (%s)'):format(plan.planId, require('tandem.visible').line(plan.title), state)
end

--- Opens the diff of a plan in a window of its own.
---@param plan tandem.Plan
local function show(plan)
  local lines = {}
  for _, file in ipairs(plan.diff) do
    vim.list_extend(lines, vim.split((file.unified:gsub('\n$', '')), '\n', { plain = true }))
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].filetype = 'diff'
  vim.bo[buf].modifiable = false
  vim.cmd('botright split')
  api.nvim_win_set_buf(0, buf)
end

---@param instance tandem.Instance
---@param ids string[]
local function approve(instance, ids)
  local tell = require('tandem.chat').tell
  instance:request('tandem/plan/approve', { sessionId = instance.session, planIds = ids }, function(err, result)
    instance.documents:release()
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    end
    local made, failure = 0, nil
    for _, approval in ipairs(result.results) do
      if approval.result.success then
        made = made + 1
      else
        failure = failure or approval.result.summary or approval.result.data
      end
    end
    local message = ('%d planned change%s made'):format(made, made == 1 and ' is' or 's are')
    if failure then
      message = ('%s; %d not: %s'):format(message, #result.results - made, require('tandem.visible').line(failure))
    end
    tell(message, failure and vim.log.levels.WARN or nil)
  end)
end

---@param instance tandem.Instance
---@param ids string[]
local function discard(instance, ids)
  local tell = require('tandem.chat').tell
  instance:request('tandem/plan/discard', { sessionId = instance.session, planIds = ids }, function(err)
    tell(err and err.message or 'discarded', err and vim.log.levels.ERROR or nil)
  end)
end

--- Asks what becomes of plans.
---@param instance tandem.Instance
---@param plans tandem.Plan[]
local function decide(instance, plans)
  local ids, stale = {}, true
  for _, plan in ipairs(plans) do
    ids[#ids + 1] = plan.planId
    stale = stale and plan.state == 'stale'
  end
  local one = #plans == 1
  local it = one and 'it' or 'them'
  local choices = { { 'Leave ' .. it } }
  if not stale then
    choices[#choices + 1] = { 'Approve ' .. it, approve }
  end
  choices[#choices + 1] = { 'Discard ' .. it, discard }
  if one and not stale then
    choices[#choices + 1] = { 'Show the diff' }
  end
  vim.ui.select(choices, {
    prompt = one and line(plans[1]) or ('%d planned changes'):format(#plans),
    format_item = function(choice)
      return choice[1]
    end,
  }, function(choice, index)
    if choice and choice[2] then
      choice[2](instance, ids)
    elseif choice and index > 1 then
      show(plans[1])
    end
  end)
end

--- Lets the person choose one of the planned changes, or all.
---@param instance tandem.Instance
function M.choose(instance)
  local tell = require('tandem.chat').tell
  instance:request('tandem/plan/list', { sessionId = instance.session }, function(err, result)
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    elseif #result.plans == 0 then
      return tell('no change is planned')
    end
    local items = vim.tbl_map(function(plan)
      return { line(plan), { plan } }
    end, result.plans)
    if #items > 1 then
      items[#items + 1] = { 'All of them', result.plans }
    end
    vim.ui.select(items, {
      prompt = 'Planned changes',
      format_item = function(item)
        return item[1]
      end,
    }, function(item)
      if item then
        decide(instance, item[2])
      end
    end)
  end)
end

return M
