--- What the server has been told about each buffer.
---
--- Neovim's own synchronisation waits 150 ms, shares that wait between all servers of a buffer, and loses the final
--- newline of files that have none. Edits made while somebody types need more: every change goes out in the tick in
--- which it happens, so that "the version last sent" is "the text of the buffer" whenever an edit arrives.
---
--- Positions are UTF-8, and a line ends at "\n", "\r\n" or "\r", as the protocol has it: a line of the buffer that holds a
--- carriage return is several lines there.
local api = vim.api

local M = {}

---@class tandem.Document
---@field uri string
---@field version integer the version last sent
---@field lines string[] the lines last sent
---@field eol boolean the text last sent ends with a line end
---@field nl string the line end
---@field tick? integer b:changedtick when the lines were last compared
---@field returns boolean some line may hold a carriage return
---@field batch? table[] changes collected for one notification
---@field stale? boolean the file on disk is newer than the buffer

---@class tandem.Documents
---@field private notify fun(method: string, params: table)
---@field private open_documents table<integer, tandem.Document>
---@field private versions table<string, integer> last version of a closed document
---@field private root string
---@field private lent table<integer, true> buffers that were loaded for an edit only
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

local well_formed ---@type vim.lpeg.Pattern

--- Whether s is UTF-8, and so can travel as JSON.
---@param s string
---@return boolean
local function is_utf8(s)
  if not s:find('[\128-\255]') then
    return true
  end
  if not well_formed then
    local R = vim.lpeg.R
    local tail = R('\128\191')
    well_formed = (
      R('\0\127') ^ 1
      + R('\194\223') * tail
      + vim.lpeg.P('\224') * R('\160\191') * tail
      + R('\225\236', '\238\239') * tail * tail
      + vim.lpeg.P('\237') * R('\128\159') * tail
      + vim.lpeg.P('\240') * R('\144\191') * tail * tail
      + R('\241\243') * tail * tail * tail
      + vim.lpeg.P('\244') * R('\128\143') * tail * tail
    ) ^ 0 * -1
  end
  return well_formed:match(s) ~= nil
end

---@param lines string[]
---@return boolean
local function hold_return(lines)
  for _, line in ipairs(lines) do
    if line:find('\r', 1, true) then
      return true
    end
  end
  return false
end

--- Whether a document can hold text so that the server reads the same: text is UTF-8, and in a file whose lines end in a
--- carriage return alone there is no line feed, which Neovim would keep as a carriage return.
---@param doc tandem.Document
---@param text string
---@return boolean
local function travels(doc, text)
  return is_utf8(text) and not (doc.nl == '\r' and hold_return(doc.lines))
end

---@param b integer?
local function continues(b)
  return b ~= nil and b >= 0x80 and b < 0xC0
end

--- How many bytes a and b share at their beginning and at their end, cutting neither a character nor a CRLF.
---@param a string
---@param b string
---@return integer prefix
---@return integer suffix
local function common(a, b)
  local max = math.min(#a, #b)
  local prefix = 0
  while prefix < max and a:byte(prefix + 1) == b:byte(prefix + 1) do
    prefix = prefix + 1
  end
  while prefix > 0 and (continues(a:byte(prefix + 1)) or continues(b:byte(prefix + 1)) or a:byte(prefix) == 13) do
    prefix = prefix - 1
  end
  max = max - prefix
  local suffix = 0
  while suffix < max and a:byte(#a - suffix) == b:byte(#b - suffix) do
    suffix = suffix + 1
  end
  while suffix > 0 do
    local first = a:byte(#a - suffix + 1)
    local split = first == 10 and (a:byte(#a - suffix) == 13 or b:byte(#b - suffix) == 13)
    if not split and not continues(first) then
      break
    end
    suffix = suffix - 1
  end
  return prefix, suffix
end

--- The number of line ends that the protocol sees inside a line of the buffer which nl follows.
---@param line string
---@param nl string
---@return integer
local function inner_ends(line, nl)
  if not line:find('\r', 1, true) then
    return 0
  end
  local _, count = line:gsub('\r', '')
  return (nl == '\n' and line:sub(-1) == '\r') and count - 1 or count
end

--- The position of the byte at offset in text, which begins at the start of line row.
---@param text string
---@param offset integer
---@param row integer
---@return lsp.Position
local function position(text, offset, row)
  local line_start = 0
  while true do
    local nl = text:find('[\r\n]', line_start + 1)
    if nl and text:byte(nl) == 13 and text:byte(nl + 1) == 10 then
      nl = nl + 1
    end
    if not nl or nl > offset then
      return { line = row, character = offset - line_start }
    end
    row, line_start = row + 1, nl
  end
end

--- The protocol's number of a line of the buffer.
---@param doc tandem.Document
---@param row integer
---@return integer
local function protocol_row(doc, row)
  local count = row
  if doc.returns then
    for i = 1, row do
      count = count + inner_ends(doc.lines[i], doc.nl)
    end
  end
  return count
end

--- Where a position lies in the buffer: row and column from 0. A row past the last line is the end of a text that ends
--- with a line end. Columns past the end of the line mean its end.
---@param doc tandem.Document
---@param pos lsp.Position
---@return integer row
---@return integer column
function M.locate(doc, pos)
  local row, column = pos.line, pos.character
  if doc.returns then
    local left = pos.line
    for i, line in ipairs(doc.lines) do
      local nl = (i == #doc.lines and not doc.eol) and '' or doc.nl
      local inner = inner_ends(line, nl)
      row = i - 1
      if left <= inner then
        local start = 0
        for _ = 1, left do
          start = line:find('\r', start + 1, true)
        end
        column = start + column
        break
      end
      left = left - inner - 1
      row = row + 1 + left
    end
  end
  local line = doc.lines[row + 1]
  return row, line and math.min(column, #line) or 0
end

--- The change that turns old into new, both beginning at the start of line row; nil when they are equal.
---@param old string
---@param new string
---@param row integer
---@return table?
local function change(old, new, row)
  if old == new then
    return nil
  end
  local prefix, suffix = common(old, new)
  return {
    range = { start = position(old, prefix, row), ['end'] = position(old, #old - suffix, row) },
    text = new:sub(prefix + 1, #new - suffix),
  }
end

---@param list string[]
---@param first integer 0-based
---@param last integer exclusive
---@param tail string what follows the last line
---@param nl string
local function body(list, first, last, tail, nl)
  return first < last and table.concat(list, nl, first + 1, last) .. tail or ''
end

--- Replaces lines [first, last) of the document and says so as an LSP content change; nil when nothing changed.
---@param doc tandem.Document
---@param first integer
---@param last integer
---@param new string[]
---@return table?
function M.splice(doc, first, last, new)
  local lines, nl = doc.lines, doc.nl
  local count = #lines
  if first == 0 and last == count and #new == 0 then
    new = { '' } -- a buffer has one line at least
  end
  local at_end = last == count
  local tail = (at_end and not doc.eol) and '' or nl
  local from, fresh = first, new
  if tail == '' and first > 0 and (first == last or #new == 0) then
    -- The last line has no line end of its own: what comes or goes is that of the line above.
    from, fresh = first - 1, { lines[first] }
    vim.list_extend(fresh, new)
  end
  local result = change(body(lines, from, last, tail, nl), body(fresh, 0, #fresh, tail, nl), protocol_row(doc, from))
  doc.returns = doc.returns or hold_return(new)

  local shift = #new - (last - first)
  if shift > 0 then
    for i = count, last + 1, -1 do
      lines[i + shift] = lines[i]
    end
  elseif shift < 0 then
    for i = last + 1, count do
      lines[i + shift] = lines[i]
    end
    for i = count + shift + 1, count do
      lines[i] = nil
    end
  end
  for i, line in ipairs(new) do
    lines[first + i] = line
  end
  return result
end

--- Adds or takes away the document's last line end and says so as a content change.
---@param doc tandem.Document
---@param eol boolean
---@return table?
local function set_eol(doc, eol)
  if eol == doc.eol then
    return nil
  end
  doc.eol = eol
  local row, last = #doc.lines - 1, doc.lines[#doc.lines]
  return change(last .. (eol and '' or doc.nl), last .. (eol and doc.nl or ''), protocol_row(doc, row))
end

---@param doc tandem.Document
---@return string
local function text_of(doc)
  return table.concat(doc.lines, doc.nl) .. (doc.eol and doc.nl or '')
end

--- The documents of one server. `notify` sends it a notification.
---@param root string
---@param notify fun(method: string, params: table)
---@return tandem.Documents
function M.new(root, notify)
  return setmetatable({ root = root, notify = notify, open_documents = {}, versions = {}, lent = {} }, Documents)
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

--- Whether the buffer is a file of the workspace.
---@param buf integer
---@return boolean
function Documents:wants(buf)
  local name = api.nvim_buf_get_name(buf)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' or name == '' or name:find('^%a[%w+.-]*://') then
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
    if api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' then
      local name = api.nvim_buf_get_name(buf)
      if name ~= '' and (name == path or real(name) == wanted) then
        return buf
      end
    end
  end
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
  doc.returns = hold_return(doc.lines)
  local text = text_of(doc)
  if not travels(doc, text) then
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
      self:changed(buf, doc, M.splice(doc, first, last, api.nvim_buf_get_lines(buf, first, new_last, false)))
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
    textDocument = { uri = uri, languageId = vim.bo[buf].filetype, version = doc.version, text = text },
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

--- Notes that a buffer was loaded for the server's sake.
---@param buf integer
function Documents:lend(buf)
  self.lent[buf] = true
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
  local newer = doc.stale
  local guard = api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      newer = true
      vim.v.fcs_choice = ''
    end,
  })
  pcall(vim.cmd.checktime, buf)
  pcall(api.nvim_del_autocmd, guard)
  if newer then
    doc.stale = true
    return 'the file has changed on disk'
  end
  if not vim.bo[buf].modified then
    return nil
  end
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false -- what is written is the text as it stands
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    vim.cmd('silent keepalt lockmarks write')
  end)
  if api.nvim_buf_is_valid(buf) then
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
  changes[#changes + 1] = set_eol(doc, ends_line(buf))
  if first and not travels(doc, first.text) then
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
    local old = text_of(doc)
    doc.lines, doc.nl, doc.eol, doc.returns = lines, nl, ends_line(buf), hold_return(lines)
    self:changed(buf, doc, change(old, text_of(doc), 0))
    return
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
  self:changed(buf, doc, M.splice(doc, first, #doc.lines - same, new))
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
    return text_of(doc), doc.version
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
---@return fun() stop
function Documents:follow(on_open)
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
  return function()
    api.nvim_del_augroup_by_id(group)
  end
end

return M
