--- What the server has been told about each buffer.
---
--- Neovim's own synchronisation waits 150 ms, shares that wait between all servers of a buffer, and loses the final
--- newline of files that have none. Edits made while somebody types need more: every change goes out in the tick in
--- which it happens, so that "the version last sent" is "the text of the buffer" whenever an edit arrives.
local api = vim.api
local texts = require('tandem.text')

local M = {}

---@class tandem.Documents
---@field private notify fun(method: string, params: table)
---@field private open_documents table<integer, tandem.Document>
---@field private versions table<string, integer> last version of a closed document
---@field private root string
---@field private lent table<integer, true> buffers that were loaded for an edit only
---@field private on_open fun(buf: integer)
---@field private told string? the files that are open elsewhere, as they were told last
local Documents = {}
Documents.__index = Documents

local LINE_END = { unix = '\n', dos = '\r\n', mac = '\r' }

---@param buf integer
---@return string
local function line_end(buf)
  return LINE_END[vim.bo[buf].fileformat]
end

--- Whether the text ends with a line end. A buffer with no text at all shows one empty line, as one that holds a single
--- line end does; only the byte count tells them apart.
---@param buf integer
---@return boolean
local function ends_line(buf)
  if not vim.bo[buf].endofline then
    return false
  end
  if api.nvim_buf_line_count(buf) > 1 or api.nvim_buf_get_lines(buf, 0, 1, false)[1] ~= '' then
    return true
  end
  return api.nvim_buf_call(buf, function()
    return vim.fn.wordcount().bytes > 0
  end)
end

--- The documents of one server. `notify` sends it a notification.
---@param root string
---@param notify fun(method: string, params: table)
---@return tandem.Documents
function M.new(root, notify)
  return setmetatable({
    root = root,
    notify = notify,
    open_documents = {},
    versions = {},
    lent = {},
    on_open = function() end,
    told = '[]',
  }, Documents)
end

---@param path string
---@return string
local function real(path)
  local resolved = vim.uv.fs_realpath(path)
  if resolved then
    return resolved
  end
  local parent = vim.fs.dirname(path)
  if parent == path then
    return path
  end
  return vim.fs.joinpath(real(parent), vim.fs.basename(path))
end

--- The path of the file that a loaded buffer is for; nil where it is for none.
---@param buf integer
---@return string?
local function file_of(buf)
  local name, type = api.nvim_buf_get_name(buf), vim.bo[buf].buftype
  if not api.nvim_buf_is_loaded(buf) or (type ~= '' and type ~= 'acwrite') or name == '' or name:find('^%a[%w+.-]*://') then
    return nil
  end
  return name
end

--- Whether a buffer shows its file in another form: a plug-in reads or writes it in the place of Neovim.
---@param buf integer
---@param name string
---@return boolean
local function in_another_form(buf, name)
  if vim.bo[buf].buftype == 'acwrite' then
    return true
  end
  for _, command in ipairs(api.nvim_get_autocmds({ event = { 'BufReadCmd', 'BufWriteCmd' } })) do
    local pattern = command.pattern
    if command.buflocal then
      if command.buffer == buf then
        return true
      end
    elseif pattern and pattern ~= '*' and not pattern:find('://', 1, true) then
      -- A pattern without a slash is one of the name alone.
      local subject = pattern:find('/', 1, true) and name or vim.fs.basename(name)
      local ok, regex = pcall(vim.regex, vim.fn.glob2regpat(pattern))
      if ok and regex:match_str(subject) then
        return true
      end
    end
  end
  return false
end

--- Whether the buffer is a file of the workspace, and its text that of the file.
---@param buf integer
---@return boolean
function Documents:wants(buf)
  local name = file_of(buf)
  if not name or in_another_form(buf, name) then
    return false
  end
  local root = real(self.root)
  return root == '/' or vim.startswith(real(name), root .. '/')
end

--- The open document of a buffer.
---@param buf integer
---@return tandem.Document?
function Documents:get(buf)
  return self.open_documents[buf]
end

--- The loaded buffer of a file, whether or not the server knows it.
---@param path string
---@return integer?
function M.buffer(path)
  local wanted = real(path)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = vim.bo[buf].buftype == '' and file_of(buf)
    if name and (name == path or real(name) == wanted) and not in_another_form(buf, name) then
      return buf
    end
  end
end

--- Whether a buffer shows a file in another form.
---@param path string
---@return boolean
function M.elsewhere(path)
  local wanted = real(path)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = file_of(buf)
    if name and (name == path or real(name) == wanted) and in_another_form(buf, name) then
      return true
    end
  end
  return false
end

--- Tells the server which files are changed in a buffer that it is not told the text of: the file on disk is not what
--- the person is about to write.
function Documents:tell_elsewhere()
  local uris = {}
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = vim.bo[buf].modified and not self.open_documents[buf] and file_of(buf)
    if name then
      uris[#uris + 1] = vim.uri_from_fname(name)
    end
  end
  table.sort(uris)
  local told = vim.json.encode(uris)
  if told ~= self.told then
    self.told = told
    self.notify('tandem/documents/elsewhere', { uris = uris })
  end
end

---@param buf integer
---@return string
local function language(buf)
  local known = vim.bo[buf].filetype
  return known ~= '' and known or vim.filetype.match({ buf = buf }) or ''
end

--- Tells the server of a buffer and of every change to it from now on. Does nothing for a buffer that is open already
--- or that is not UTF-8.
---@param buf integer
---@return boolean open
function Documents:open(buf)
  if self.open_documents[buf] then
    return true
  end
  local uri = vim.uri_from_bufnr(buf)
  local doc = { ---@type tandem.Document
    uri = uri,
    version = (self.versions[uri] or 0) + 1,
    lines = api.nvim_buf_get_lines(buf, 0, -1, true),
    eol = ends_line(buf),
    nl = line_end(buf),
    tick = api.nvim_buf_get_changedtick(buf),
  }
  doc.returns = texts.hold_return(doc.lines)
  local text = texts.whole(doc)
  if not texts.travels(doc, text) then
    return false
  end
  local function mine()
    return self.open_documents[buf] == doc
  end
  local attached = api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, last, new_last)
      if not mine() then
        return true
      end
      doc.tick = tick
      self:changed(buf, doc, texts.splice(doc, first, last, api.nvim_buf_get_lines(buf, first, new_last, false)))
      if #doc.lines == 1 and doc.lines[1] == '' then
        -- Whether there is no text at all, undo settles only after this.
        vim.schedule(function()
          if mine() then
            self:refresh(buf)
          end
        end)
      end
    end,
    on_reload = function()
      if mine() then
        doc.stale, doc.tick = nil, nil
        self:refresh(buf)
      end
    end,
    on_detach = function()
      if mine() then
        self:close(buf)
      end
    end,
  })
  if not attached then
    return false
  end
  self.open_documents[buf] = doc
  self.notify('textDocument/didOpen', {
    textDocument = { uri = uri, languageId = language(buf), version = doc.version, text = text },
  })
  return true
end

---@param buf integer
function Documents:close(buf)
  local doc = self.open_documents[buf]
  if not doc then
    return
  end
  self.open_documents[buf] = nil
  self.versions[doc.uri] = doc.version
  self.notify('textDocument/didClose', { textDocument = { uri = doc.uri } })
end

--- Notes that a buffer was loaded for the server's sake, with no autocommand. Those run when somebody comes to see it.
---@param buf integer
function Documents:borrow(buf)
  self.lent[buf] = true
  api.nvim_create_autocmd('BufWinEnter', {
    buffer = buf,
    once = true,
    callback = function()
      self.lent[buf] = nil
      api.nvim_exec_autocmds('BufReadPost', { buffer = buf, modeline = vim.bo[buf].modeline })
      self.on_open(buf)
    end,
  })
end

--- Unloads buffers that were loaded for the server's sake, as far as nobody has come to use them and nothing in them is
--- unsaved: text that stayed behind would hide later changes of the file.
function Documents:release()
  for buf in pairs(self.lent) do
    if not api.nvim_buf_is_loaded(buf) then
      self.lent[buf] = nil
    elseif vim.bo[buf].buflisted or #vim.fn.win_findbuf(buf) > 0 then
      self.lent[buf] = nil
    elseif not vim.bo[buf].modified then
      self.lent[buf] = nil
      api.nvim_buf_delete(buf, {})
    end
  end
end

--- Why a document's file is not what Neovim read or wrote last, as v:fcs_reason has it: "time" and "mode" are the same
--- text. Nobody is asked. A buffer without changes is loaded where 'autoread' is set, and is as new as its file then.
---@param buf integer
---@return string? reason
function Documents:newer(buf)
  local doc = self.open_documents[buf]
  local reason = doc and doc.stale and 'conflict' or nil ---@type string?
  local guard = api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      reason = reason or vim.v.fcs_reason
      vim.v.fcs_choice = ''
    end,
  })
  pcall(vim.cmd.checktime, buf)
  pcall(api.nvim_del_autocmd, guard)
  if doc and (reason == 'changed' or reason == 'conflict') then
    doc.stale = true -- Neovim tells of each change once
  end
  return reason
end

--- Writes a document to its file. The reason is that of a failure, in Neovim's words.
---@param path string
---@return string? reason
function Documents:save(path)
  local buf = M.buffer(path)
  local doc = buf and self.open_documents[buf]
  if not doc then
    return 'not open'
  end
  -- Neovim would ask whether to overwrite a file that is newer than its buffer, and wait for the answer.
  if self:newer(buf) then
    doc.stale = true
    return 'the file has changed on disk'
  end
  if not vim.bo[buf].modified then
    return nil
  end
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false -- what is written is the text as it stands
  -- What was read without autocommands is written without them: one that decodes may be paired with one that encodes.
  local lent = self.lent[buf]
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    vim.cmd((lent and 'noautocmd ' or '') .. 'silent keepalt lockmarks write')
  end)
  if api.nvim_buf_is_valid(buf) then
    if lent and ok then
      self:saved(buf)
    end
    vim.bo[buf].fixendofline = fix
  end
  return not ok and tostring(err):gsub('^.*Vim[^:]*:', '') or nil
end

--- Forgets every document without telling the server, which is gone.
function Documents:drop()
  self.open_documents = {}
end

---@private
---@param buf integer
---@param doc tandem.Document
---@param first? table the change to send; that of the final line end follows by itself
function Documents:changed(buf, doc, first)
  local changes = doc.batch or {}
  changes[#changes + 1] = first
  changes[#changes + 1] = texts.set_eol(doc, ends_line(buf))
  if first and not texts.travels(doc, first.text) then
    self:close(buf)
  elseif not doc.batch then
    self:send(doc, changes)
  end
end

---@private
---@param doc tandem.Document
---@param changes table[]
function Documents:send(doc, changes)
  if #changes > 0 then
    doc.version = doc.version + 1
    self.notify('textDocument/didChange', {
      textDocument = { uri = doc.uri, version = doc.version },
      contentChanges = changes,
    })
  end
end

--- Compares the buffer with what the server knows and sends the difference: for changes that no callback tells of, as
--- those of options.
---@param buf integer
function Documents:refresh(buf)
  local doc = self.open_documents[buf]
  if not doc then
    return
  end
  local nl, tick = line_end(buf), api.nvim_buf_get_changedtick(buf)
  if nl == doc.nl and tick == doc.tick then
    return self:changed(buf, doc)
  end
  doc.tick = tick
  local lines = api.nvim_buf_get_lines(buf, 0, -1, true)
  if nl ~= doc.nl then
    local old = texts.whole(doc)
    doc.lines, doc.nl, doc.eol, doc.returns = lines, nl, ends_line(buf), texts.hold_return(lines)
    if not texts.travels(doc, '') then
      return self:close(buf)
    end
    return self:changed(buf, doc, texts.change(old, texts.whole(doc), 0))
  end
  local max = math.min(#lines, #doc.lines)
  local first, same = 0, 0
  while first < max and lines[first + 1] == doc.lines[first + 1] do
    first = first + 1
  end
  while same < max - first and lines[#lines - same] == doc.lines[#doc.lines - same] do
    same = same + 1
  end
  local new = vim.list_slice(lines, first + 1, #lines - same)
  self:changed(buf, doc, texts.splice(doc, first, #doc.lines - same, new))
end

--- Runs fn and sends all changes that it makes to the buffer as one notification.
---@param buf integer
---@param fn fun()
function Documents:batch(buf, fn)
  local doc = assert(self.open_documents[buf])
  doc.batch = {}
  local ok, err = pcall(fn)
  self:refresh(buf)
  local changes = doc.batch
  doc.batch = nil
  if self.open_documents[buf] == doc then
    self:send(doc, changes)
  end
  if not ok then
    error(err, 0)
  end
end

--- The text that the server should hold for a document, and its version.
---@param buf integer
---@return string? text
---@return integer? version
function Documents:text(buf)
  local doc = self.open_documents[buf]
  if doc then
    return texts.whole(doc), doc.version
  end
end

---@private
---@param buf integer
function Documents:saved(buf)
  local doc = self.open_documents[buf]
  if not doc then
    return
  end
  doc.stale = nil
  -- The line end that 'fixendofline' has just written is part of the text from now on.
  if vim.bo[buf].fixendofline and not vim.bo[buf].binary and not vim.bo[buf].endofline then
    vim.bo[buf].endofline = true
  end
  self:refresh(buf)
  self.notify('textDocument/didSave', { textDocument = { uri = doc.uri } })
end

--- Opens every buffer of the workspace, now and from now on. Returns what ends it.
---@param on_open fun(buf: integer)
---@param elsewhere? boolean the server wants to know what is changed in buffers that are no documents
---@return fun() stop
function Documents:follow(on_open, elsewhere)
  self.on_open = on_open
  local group = api.nvim_create_augroup('tandem_documents_' .. self.root, {})
  local function open(buf)
    if self:wants(buf) and not self.open_documents[buf] and self:open(buf) then
      on_open(buf)
    end
  end
  local function on(events, callback, pattern)
    api.nvim_create_autocmd(events, { group = group, pattern = pattern, callback = callback })
  end
  on({ 'BufReadPost', 'BufNewFile' }, function(event)
    open(event.buf)
  end)
  on('BufFilePost', function(event)
    self:close(event.buf)
    open(event.buf)
  end)
  on('BufWritePost', function(event)
    self:saved(event.buf)
  end)
  on('FileChangedShellPost', function(event)
    local doc = self.open_documents[event.buf]
    if doc and vim.bo[event.buf].modified then
      doc.stale = true
    end
  end)
  on('OptionSet', function()
    self:refresh(api.nvim_get_current_buf())
  end, { 'endofline', 'fileformat' })
  for _, buf in ipairs(api.nvim_list_bufs()) do
    open(buf)
  end
  local function tell()
    if elsewhere then
      self:tell_elsewhere()
    end
  end
  on('OptionSet', function()
    local buf = api.nvim_get_current_buf()
    if self.open_documents[buf] and not self:wants(buf) then
      self:close(buf)
      tell()
    end
  end, 'buftype')
  if elsewhere then
    on({ 'BufModifiedSet', 'BufFilePost', 'BufWritePost' }, tell)
    on({ 'BufUnload', 'BufWipeout' }, function()
      vim.schedule(tell) -- it is there until this is over
    end)
    tell()
  end
  return function()
    api.nvim_del_augroup_by_id(group)
  end
end

return M
