-- The list of the permission rules. One that was kept for an answer can be taken back here.
local M = {}

---@param rule tandem.PermissionRule
---@return string
local function line(rule)
  local visible = require('tandem.visible').line
  local folder = rule.workspace and vim.fn.fnamemodify(rule.workspace, ':~')
  local where = rule.scope == 'session' and 'this session' or folder or 'everywhere'
  local text = ('%-5s %s  (%s)'):format(rule.effect or '', rule.text or rule.tool, where)
  return visible(rule.removable and text or ('%s, written in %s'):format(text, rule.source or 'the configuration'))
end

---@param instance tandem.Instance
---@param rule tandem.PermissionRule
local function take_back(instance, rule)
  local tell = require('tandem.chat').tell
  if not rule.removable then
    return tell(('the rule is written in %s: change it there'):format(rule.source or 'the configuration'))
  end
  vim.ui.select({ 'Keep it', 'Take it back' }, { prompt = line(rule) }, function(_, index)
    if index ~= 2 then
      return
    end
    local params = { scope = 'user', sessionId = instance.session, remove = { rule.id } }
    instance:request('tandem/permissions/set', params, function(err)
      tell(err and err.message or 'the rule was taken back', err and vim.log.levels.ERROR or nil)
    end)
  end)
end

--- Lets the person choose one of the rules that hold.
---@param instance tandem.Instance
function M.choose(instance)
  local tell = require('tandem.chat').tell
  instance:request('tandem/permissions/list', { sessionId = instance.session }, function(err, result)
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    elseif #result.rules == 0 then
      return tell('there are no permission rules')
    end
    vim.ui.select(result.rules, { prompt = 'Permission rules', format_item = line }, function(rule)
      if rule then
        take_back(instance, rule)
      end
    end)
  end)
end

return M
