--- The sessions of a folder: with which one a server begins, and how a person gets back to another.
---
--- Which sessions have changes that wait is also in a file of Neovim's state folder each, so that a Neovim that is started
--- in their folder can mark them: until somebody asks the agent no server runs that could tell.
local M = {}

---@param text string
---@return string
local function hash(text)
  return vim.fn.sha256(text):sub(1, 32)
end

---@param root string
---@param session string
---@return string
local function marker(root, session)
  return vim.fs.joinpath(M.folder(), hash(root) .. '-' .. hash(session))
end

--- The folder of the markers; there is none where nothing waits anywhere.
---@return string
function M.folder()
  return vim.fs.joinpath(vim.fn.stdpath('state'), 'tandem', 'review')
end

--- The markers of all sessions of a folder.
---@param root string
---@return string[]
local function markers(root)
  local result = {}
  for name in vim.fs.dir(M.folder()) do
    if vim.startswith(name, hash(root)) then
      result[#result + 1] = vim.fs.joinpath(M.folder(), name)
    end
  end
  return result
end

---@param path string
local function remove(path)
  if vim.uv.fs_unlink(path) then
    vim.uv.fs_rmdir(M.folder()) -- which fails where another session has a marker
  end
end

--- Notes whether changes wait in a session of a folder.
---@param root string
---@param session string
---@param waiting boolean
function M.mark(root, session, waiting)
  local path = marker(root, session)
  if not waiting then
    return remove(path)
  elseif vim.uv.fs_stat(path) then
    return
  end
  vim.fn.mkdir(M.folder(), 'p', 448)
  local fd = vim.uv.fs_open(path, 'w', 384)
  if fd then
    vim.uv.fs_write(fd, root)
    vim.uv.fs_close(fd)
  end
end

--- Whether a session of a folder is marked.
---@param root string
---@return boolean
function M.marked(root)
  return #markers(root) > 0
end

--- Removes the markers of a folder's sessions in which nothing waits any more.
---@param root string
---@param sessions tandem.SessionInfo[] all of the folder
local function sweep(root, sessions)
  local kept = {}
  for _, session in ipairs(sessions) do
    kept[marker(root, session.sessionId)] = vim.tbl_get(session, '_meta', 'tandem', 'pending') ~= 0 or nil
  end
  for _, path in ipairs(markers(root)) do
    if not kept[path] then
      remove(path)
    end
  end
end

--- Starts the server of each folder with changes that wait as soon as a buffer of it is there. It ends again where they
--- are gone, or another Neovim has their session.
function M.watch()
  local tried = {} ---@type table<string, true>
  local function look(buf)
    if vim.bo[buf].buftype ~= '' or vim.api.nvim_buf_get_name(buf) == '' then
      return
    end
    local client = require('tandem.client')
    local ok, root = pcall(client.root, buf)
    if not ok or tried[root] or not M.marked(root) then
      return
    end
    tried[root] = true
    client.ensure(root, function(instance, err)
      local _, waits = instance.review:pending()
      if not err and waits > 0 then
        local text = '%s here; :Tandem next goes there, :Tandem opens the chat'
        require('tandem.chat').tell(text:format(M.count(waits)))
      end
    end, true)
  end
  vim.api.nvim_create_autocmd('BufReadPost', {
    group = vim.api.nvim_create_augroup('tandem_sessions', {}),
    callback = function(event)
      vim.schedule(function()
        if vim.api.nvim_buf_is_loaded(event.buf) then
          look(event.buf)
        end
      end)
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      look(buf)
    end
  end
end

--- So many changes, in words.
---@param waits integer
---@return string
function M.count(waits)
  return waits == 1 and '1 change waits' or ('%d changes wait'):format(waits)
end

---@param session tandem.SessionInfo
---@return string
local function named(session)
  return session.title ~= '' and ('“%s”'):format(session.title) or 'without a prompt'
end

--- How long ago a time was, in words.
---@param stamp string as the protocol writes it: in UTC
---@return string
local function age(stamp)
  local at = vim.fn.strptime('%Y-%m-%dT%H:%M:%S', (stamp:gsub('%.%d+Z$', ''):gsub('Z$', '')))
  if at == 0 then
    return ''
  end
  local here = os.time()
  local there = os.date('!*t', here)
  there.isdst = nil
  -- It was read as a time of the place where we are.
  local ago = os.time(there) - at
  for _, unit in ipairs({ { 86400, 'day' }, { 3600, 'hour' }, { 60, 'minute' } }) do
    local n = math.floor(ago / unit[1])
    if n >= 1 then
      return ('%d %s%s ago'):format(n, unit[2], n == 1 and '' or 's')
    end
  end
  return 'just now'
end

---@param session tandem.SessionInfo
---@return {turns: integer, pending: integer}
local function state(session)
  return vim.tbl_get(session, '_meta', 'tandem') or { turns = 1, pending = 0 }
end

--- A session in one line of a list.
---@param session tandem.SessionInfo
---@param current boolean
---@return string
function M.line(session, current)
  local it = state(session)
  local parts = { named(session), age(session.updatedAt), ('%d turn%s'):format(it.turns, it.turns == 1 and '' or 's') }
  if it.pending > 0 then
    parts[#parts + 1] = M.count(it.pending)
  end
  if current then
    parts[#parts + 1] = 'this one'
  end
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ''
    end, parts),
    ' · '
  )
end

---@param instance tandem.Instance
---@param callback fun(err?: {message: string}, sessions: tandem.SessionInfo[])
local function list(instance, callback)
  instance:request('tandem/session/list', { cwd = instance.root }, function(err, result)
    callback(err, result and result.sessions or {})
  end)
end

--- Why a session could not be gone on with, for a person.
---@param session tandem.SessionInfo
---@param err {code: integer, message: string}
---@return string
local function why(session, err)
  local errors = require('tandem.protocol').ERRORS
  if err.code == errors.session_busy then
    local pid = vim.tbl_get(err, 'data', 'pid')
    return ('The session %s is open in another program%s.'):format(named(session), pid and (' (process %d)'):format(pid) or '')
  elseif err.code == errors.unknown_session then
    return ('The session %s no longer exists.'):format(named(session))
  end
  return ('The session %s cannot be resumed: %s'):format(named(session), err.message)
end

--- What waits in the sessions of a folder that are not shown, for a person; nil for nothing.
---@param sessions tandem.SessionInfo[] all of the folder
---@param current? string
---@return string?
function M.elsewhere(sessions, current)
  local waits, others = 0, {}
  for _, session in ipairs(sessions) do
    local pending = state(session).pending
    if session.sessionId ~= current and pending > 0 then
      waits, others[#others + 1] = waits + pending, session
    end
  end
  if waits == 0 then
    return nil
  end
  local where = #others == 1 and 'the session ' .. named(others[1]) or ('%d other sessions'):format(#others)
  return ('%s in %s; :Tandem sessions leads there.'):format(M.count(waits), where)
end

--- Goes on with the session that the folder had last, or begins one and says why. A quiet start goes on with the last one
--- that is marked, and ends where there is none in which changes wait.
---@param instance tandem.Instance
---@param callback fun(err?: string)
function M.resume(instance, callback)
  list(instance, function(err, sessions)
    if instance.quiet and err then
      return callback(err.message)
    end
    local before = require('tandem.client').shown(instance.root)
    local last = vim.iter(sessions):find(function(session)
      local it = state(session)
      local fits = it.turns > 0 or it.pending > 0
      if instance.quiet then
        fits = it.pending > 0 and vim.uv.fs_stat(marker(instance.root, session.sessionId)) ~= nil
      end
      return fits and (not before or session.sessionId == before)
    end)
    if instance.quiet and not last then
      sweep(instance.root, sessions)
      return callback('nothing waits')
    elseif err or not last then
      return instance:create({ M.elsewhere(sessions) }, callback)
    end
    instance:load(last.sessionId, function(refused)
      if not refused then
        if not before then
          local text = 'Resumed the session %s, %s. :Tandem new starts another, :Tandem sessions lists all.'
          instance.chat:note(text:format(named(last), age(last.updatedAt)))
        end
        local elsewhere = M.elsewhere(sessions, last.sessionId)
        if elsewhere then
          instance.chat:note(elsewhere, 'TandemWaiting')
          require('tandem.chat').tell(elsewhere)
        end
        return callback()
      elseif instance.quiet then
        return callback(refused.message)
      end
      local remarks = { why(last, refused), 'This is a new one; :Tandem sessions lists the others.' }
      remarks[#remarks + 1] = M.elsewhere(sessions, last.sessionId)
      instance:create(remarks, callback)
    end)
  end)
end

--- What is to be said when the present session is left for a new one.
---@param instance tandem.Instance
---@return string[]
function M.left(instance)
  local _, waits = instance.review:pending()
  if waits == 0 then
    return {}
  end
  return { M.count(waits) .. ' in the session before; :Tandem sessions leads back.' }
end

--- Lets the person choose one of the folder's sessions.
---@param instance tandem.Instance
function M.choose(instance)
  local tell = require('tandem.chat').tell
  list(instance, function(err, sessions)
    if err then
      return tell(err.message, vim.log.levels.ERROR)
    end
    sessions = vim.tbl_filter(function(session)
      return session.sessionId == instance.session or state(session).turns > 0 or state(session).pending > 0
    end, sessions)
    if #sessions < 2 then
      return tell('there is no other session of this folder')
    end
    vim.ui.select(sessions, {
      prompt = 'Sessions of ' .. vim.fs.basename(instance.root),
      format_item = function(session)
        return M.line(session, session.sessionId == instance.session)
      end,
    }, function(session)
      if not session or session.sessionId == instance.session then
        return
      elseif instance.running then
        return tell('a turn is running; :Tandem stop ends it', vim.log.levels.WARN)
      end
      require('tandem.jobs').ask(instance, function(keep)
        instance:load(session.sessionId, function(refused)
          if refused then
            local text = why(session, refused)
            instance.chat:note(text, 'TandemWaiting')
            return tell(text, vim.log.levels.WARN)
          end
          instance.chat:open()
          local _, waits = instance.review:pending()
          tell(('resumed the session %s%s'):format(named(session), waits > 0 and '; ' .. M.count(waits) or ''))
        end, keep)
      end)
    end)
  end)
end

return M
